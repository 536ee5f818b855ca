"""What tests and the simulator build on; never imported by a service."""
