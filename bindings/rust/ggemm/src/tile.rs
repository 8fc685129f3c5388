// SPDX-License-Identifier: Apache-2.0
//! Which tile each program computes, and in what order.

use std::{marker::PhantomData, ops::Range};

use ggemm_sys as sys;

use crate::{error::check, problem::Sizes, Config, Result, Source};

/// The tiles of a problem, in the order of the kernels' programs: an L2-friendly one, which goes down a few rows of tiles
/// before it goes to the next column.
///
/// ```
/// use ggemm::TileGrid;
///
/// let grid = TileGrid::new(1024, 768, 128, 64).raster(2);
/// let tile = grid.at(60)?;
/// assert_eq!((tile.row, tile.col), (4, 6));
/// assert_eq!((tile.rows, tile.cols), (512..640, 384..448));
/// assert_eq!(grid.count()?, 96);
/// # Ok::<(), ggemm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TileGrid<'a> {
    raw: sys::ggemm_tile_grid,
    sizes: Sizes,
    marker: PhantomData<&'a [[i64; 2]]>,
}

// SAFETY: the description's pointers are into borrowed sizes.
unsafe impl Send for TileGrid<'_> {}
// SAFETY: as above.
unsafe impl Sync for TileGrid<'_> {}

/// A tile of a [`TileGrid`]. One past the edge of D, which completes a cluster, covers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Tile {
    /// The group that it belongs to.
    pub group: i64,
    /// Its place among the rows of tiles.
    pub row: i64,
    /// Its place among the columns of tiles.
    pub col: i64,
    /// The rows of D that it covers, cut at m.
    pub rows: Range<i64>,
    /// The columns of D that it covers, cut at n.
    pub cols: Range<i64>,
}

impl TileGrid<'static> {
    /// Of a plain problem. The raster is 1.
    #[must_use]
    pub fn new(m: usize, n: usize, tile_m: i32, tile_n: i32) -> Self {
        let mut sizes = Sizes::default();
        let (m, n) = (Source::constant(sizes.take("m", m)).raw, Source::constant(sizes.take("n", n)).raw);
        let raw = sys::ggemm_tile_grid { m, n, tile_m, tile_n, ..sys::GGEMM_TILE_GRID_INIT };
        Self { raw, sizes, marker: PhantomData }
    }

    /// Of a plain problem under a configuration, with its raster and cluster.
    #[must_use]
    pub fn of(m: usize, n: usize, config: &Config) -> Self {
        let grid = Self::new(m, n, config.tile.0, config.tile.1).raster(config.raster);
        grid.cluster(config.cluster.0, config.cluster.1).swapped(config.swapped)
    }
}

impl<'a> TileGrid<'a> {
    /// Of a grouped problem with these m and n of each group. The raster is 1.
    #[must_use]
    pub fn grouped(sizes: &'a [[i64; 2]], tile_m: i32, tile_n: i32) -> Self {
        let groups = sizes.len() as i64;
        let first: *const i64 = sizes.as_ptr().cast();
        let (m, n) = (Source::i64_at(first, 16).raw, Source::i64_at(first.wrapping_add(1), 16).raw);
        let raw = sys::ggemm_tile_grid { groups, m, n, tile_m, tile_n, ..sys::GGEMM_TILE_GRID_INIT };
        Self { raw, sizes: Sizes::default(), marker: PhantomData }
    }

    /// How many rows of tiles (of clusters, where there are any; columns, where swapped) are walked together: Triton's
    /// `GROUP_SIZE_M`.
    #[must_use]
    pub fn raster(mut self, raster: i32) -> Self {
        self.raw.raster = raster;
        self
    }

    /// CTAs of a cluster, down and across.
    #[must_use]
    pub fn cluster(mut self, down: i32, across: i32) -> Self {
        (self.raw.cluster_m, self.raw.cluster_n) = (down, across);
        self
    }

    /// Whether the product is computed transposed.
    #[must_use]
    pub fn swapped(mut self, swapped: bool) -> Self {
        self.raw.swapped = swapped.into();
        self
    }

    /// Programs (Triton's word) of all groups: one a tile, and with clusters those tiles too that complete the last ones.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): tile or raster is not above 0, a cluster is below 0, or there are
    /// 2^63 tiles or more.
    pub fn count(&self) -> Result<i64> {
        self.sizes.check()?;
        let mut count = 0;
        // SAFETY: the sizes are borrowed, and there is a place for the number.
        check(unsafe { sys::ggemm_tile_count(&self.raw, &mut count) })?;
        Ok(count)
    }

    /// The tile that the pid-th program computes: the very arithmetic of the kernels.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): pid is negative or past the end, or as [`count`](Self::count).
    pub fn at(&self, pid: i64) -> Result<Tile> {
        self.sizes.check()?;
        let mut tile = sys::GGEMM_TILE_INIT;
        // SAFETY: the sizes are borrowed, and the struct says its size.
        check(unsafe { sys::ggemm_tile_at(&self.raw, pid, &mut tile) })?;
        Ok(Tile {
            group: tile.group,
            row: tile.tile_row,
            col: tile.tile_col,
            rows: tile.row_begin..tile.row_end,
            cols: tile.col_begin..tile.col_end,
        })
    }

    /// All tiles, in order.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn tiles(&self) -> Result<impl Iterator<Item = Tile> + '_> {
        // What count() accepts, at() answers for every pid below it.
        Ok((0..self.count()?).map_while(|pid| self.at(pid).ok()))
    }
}
