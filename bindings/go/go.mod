module ggemm

go 1.24
