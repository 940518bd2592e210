steps "a" { # ERROR: no block "steps" at the top of the file
  run = ["true"]
}
tasks "b" { # ERROR: no block "tasks" at the top of the file: Did you mean task?
  run = ["true"]
}
jobs "c" { # ERROR: no block "jobs" at the top of the file: Did you mean job?
  tasks = []
}
agents "d" { # ERROR: no block "agents" at the top of the file: Did you mean agent?
  command = ["x"]
}
