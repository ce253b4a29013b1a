"""What each command does, by the command's name: loaded when it runs, since numpy and all else take their time."""
