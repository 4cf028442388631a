module sluice.dev/test/bench/peers/tls-client

go 1.26.0
