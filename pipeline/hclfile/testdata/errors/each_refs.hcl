agent "m" {
  command = ["x"]
}
task "build" {
  for_each = ["linux", "darwin"]
  run      = ["x"]
}
task "plain" {
  run = ["x"]
}
task "none" {
  for_each = []
  run      = ["x"]
}
task "a" {
  depends_on = [
    task.build["linx"],      # ERROR: task "build" has no instance "linx": Did you mean linux?
    task.build["bsd"],       # ERROR: task "build" has no instance "bsd": It has linux, darwin.
    task.build.linux,        # ERROR: Write task.build, or task.build["KEY"] for one of several instances.
    task.build["linux"].x,   # ERROR: depends_on must refer to a task
    task.build["linux"]["x"], # ERROR: depends_on must refer to a task
    task.plain["x"],         # ERROR: task "plain" is one, without instances: Write task.plain.
    task.none["x"],          # ERROR: It has none at all.
    task.build[each.key],    # ERROR: each needs a for_each
    task.build[null],        # ERROR: the key of a reference is null
    task.build[["a"]],       # ERROR: the key of a reference contains what is not text
    task.build[secret("TOKEN")], # ERROR: the key of a reference may not be made from a secret
    task[local.x],           # ERROR: Write task.NAME.
    task.build[*],           # ERROR: depends_on must refer to a task
    task.nope["x"],          # ERROR: there is no task "nope"
  ]
  run = ["x"]
  on_fail "agent" {
    use = agent.m["x"] # ERROR: agent "m" is one, without instances
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
    verify = [task.build["osx"]] # ERROR: task "build" has no instance "osx"
  }
}
task "test" {
  for_each   = ["linux", "darwin", "bsd", "plan9", "aix", "js"]
  depends_on = [task.build[each.key]] # ERROR: no instance "bsd" # ERROR: no instance "plan9" # ERROR: no instance "aix"
  run        = ["x"]
}
job "j" {
  tasks = [task.build["linux"], task.test["sun"]] # ERROR: task "test" has no instance "sun"
}
