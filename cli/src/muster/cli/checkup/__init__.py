"""What `muster doctor` looks at, one finding each."""
