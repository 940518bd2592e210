task { # ERROR: this task has no name
  run = ["true"]
}
task "a" "b" { # ERROR: task has one name only
  run = ["true"]
}
pipeline "p" { # ERROR: pipeline has no name
}
task "c" {
  run = ["true"]
  on_fail { # ERROR: does not say of what kind
    run = ["true"]
  }
  on_fail "notify" { # ERROR: there is no on_fail "notify"
    run = ["true"]
  }
  on_fail "agnet" { # ERROR: Did you mean agent?
    prompt = "x"
  }
}
locals {
  group { # ERROR: no block "group" in locals
  }
}
