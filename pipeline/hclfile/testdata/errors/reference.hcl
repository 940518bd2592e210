agent "m" {
  command = ["x"]
}
task "build" {
  run = ["true"]
}
task "b" {
  depends_on = [task.biuld, task.none] # ERROR: Did you mean build? # ERROR: there is no task "none"
  run        = ["true"]
}
task "c" {
  depends_on = ["build"] # ERROR: Write task.build, without quotes.
  run        = ["true"]
}
task "d" {
  depends_on = [build] # ERROR: Did you mean task.build?
  run        = ["true"]
}
task "e" {
  depends_on = task.build # ERROR: Write depends_on = [task.NAME].
  run        = ["true"]
}
task "f" {
  depends_on = [agent.m] # ERROR: depends_on must refer to a task
  run        = ["true"]
}
task "g" {
  depends_on = [task.build["linux"]] # ERROR: task "build" is one, without instances
  run        = ["true"]
}
job "j" {
  tasks = [task.build, job.k, task] # ERROR: tasks must refer to a task # ERROR: Write task.NAME.
}
job "k" {
  tasks = [] # ERROR: tasks is empty
}
job "l" {
  tasks = null # ERROR: tasks must be a list of references
}
