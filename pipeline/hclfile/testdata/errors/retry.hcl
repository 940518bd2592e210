task "none" {
  run = ["true"]
  retry { # ERROR: the retry block has no attempts
    delay = "1s"
  }
}
task "a" {
  run = ["true"]
  retry {
    attempts = 11         # ERROR: attempts must be a whole number from 1 to 10
    delay    = 5          # ERROR: delay has no unit
    on_exit  = [0, 256]   # ERROR: a code in on_exit must be a whole number from 1 to 255 # ERROR: a code in on_exit must be
  }
  retry { # ERROR: a second retry block
    attempts = 2
  }
}
task "b" {
  run = ["true"]
  retry {
    attempts = 0            # ERROR: attempts must be a whole number from 1 to 10
    delay    = "-1s"        # ERROR: delay must be longer than nothing
    on_exit  = [1.5, "75"]  # ERROR: must be a whole number from 1 to 255 # ERROR: a code in on_exit must be a whole number, without quotes
  }
}
task "c" {
  run = ["true"]
  retry {
    attempts = "2" # ERROR: attempts must be a whole number, without quotes
    on_exit  = []  # ERROR: on_exit is empty
  }
}
task "d" {
  run = ["true"]
  retry {
    attempts = 2
    on_exit  = 75 # ERROR: on_exit must be a list
  }
}
