task "a" {
  run = ["true"]
  cache { # ERROR: task "a" has a cache block and no inputs
    ttl = "1h"
  }
}

task "b" {
  run    = ["true"]
  inputs = ["**"]
  cache {
    enabled = "perhaps" # ERROR: true or false
    ttl     = "long"    # ERROR: ttl is not a time
    size    = 1         # ERROR: there is no attribute "size" in cache
  }
  cache { # ERROR: second
    enabled = false
  }
}

task "c" {
  run = ["true"]
  cache {
    enabled = false
  }
}
