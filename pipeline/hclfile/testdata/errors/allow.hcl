variable "token" {
  default   = "hunter2-hunter2"
  sensitive = true
}
locals {
  flat  = ["go", "test"]
  mixed = [["go", 1]]
}
agent "m" {
  command = ["./a"]
}
task "text" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    allow = "go test" # ERROR: Write allow = [["go", "test", "**"]].
  }
}
task "flat" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    allow = ["go", # ERROR: allow must be a list: It is text. Write allow = [["go", "test", "**"]].
    "test"]        # ERROR: allow must be a list
  }
}
task "words" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    allow = [
      ["go", "vet"],
      [],                   # ERROR: allow contains an empty pattern
      ["go", 5],            # ERROR: a word of allow must be text in quotes: It is a number.
      ["go", null],         # ERROR: allow is null
      null,                 # ERROR: allow is null
      ["curl", var.token],  # ERROR: allow may not be made from a secret
      ["go", "a\u0000b"],   # ERROR: contains a NUL byte
      ["**"],               # ERROR: a pattern of allow cannot be used: its first word must name a program
      ["go", "**", "x"],    # ERROR: ** must be its last word
    ]
  }
}
task "made" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    allow = local.flat # ERROR: allow must be a list
  }
}
task "made_of_numbers" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    allow = local.mixed # ERROR: a word of allow must be text in quotes
  }
}
