module undercroft/bench/storage

go 1.22
