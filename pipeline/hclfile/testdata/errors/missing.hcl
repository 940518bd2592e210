task "a" { # ERROR: task "a" has nothing to run
}
agent "b" { # ERROR: agent "b" has no cli
}
job "j" { # ERROR: job "j" has no tasks
}
variable "v" { # ERROR: Give one with --var v=VALUE, with --var-file or with ASYNC_PIPELINE_VAR_v
}
