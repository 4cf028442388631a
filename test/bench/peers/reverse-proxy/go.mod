module sluice.dev/test/bench/peers/reverse-proxy

go 1.26.0
