task "my task" { # ERROR: "my task" is not a valid name
  run = ["true"]
}
agent "1st" { # ERROR: "1st" is not a valid name
  command = ["x"]
}
