"""What the devices of the local and the shuffle model share."""
