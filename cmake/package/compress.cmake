# SPDX-License-Identifier: Apache-2.0
# Run by CPack on the files that it is about to pack: manuals and changelogs are compressed, without names and times, as Debian has them.
set(folder ${CPACK_TEMPORARY_DIRECTORY})
file(GLOB_RECURSE files ${folder}/ggemm.1 ${folder}/changelog ${folder}/changelog.Debian)
foreach(file IN LISTS files)
  execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
