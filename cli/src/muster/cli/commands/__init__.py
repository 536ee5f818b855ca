"""One module for each command or group; imported when it is used (`muster.cli.lazy`)."""
