task "a" { # ERROR: task "a" has nothing to run
}
agent "b" { # ERROR: agent "b" has no command
}
job "j" { # ERROR: job "j" has no tasks
}
variable "v" { # ERROR: --var v=VALUE or with ASYNC_PIPELINE_VAR_v
}
