# A name that looks like that of a key is passed, with a hint to secret().
pipeline {
  pass_env = ["GOFLAGS", "NPM_TOKEN", "AWS_*"] # WARN: NPM_TOKEN is passed without being hidden
}
task "hint" {
  for_each = ["a", "b"]
  run      = "true"
  pass_env = [
    "API_KEY",       # WARN: If it is secret, write env = { API_KEY = secret(
    "client_secret", # WARN: client_secret is passed
    "DB_PASSWORD",   # WARN: DB_PASSWORD is passed
    "KEYBOARD",
    "TOKEN_URL",
    "MONKEY",
  ]
}
task "hidden" {
  run      = "true"
  pass_env = ["DEPLOY_TOKEN"] # its value is hidden, because secret() names it below
}
task "deploy" {
  run = "true"
  env = { DEPLOY_TOKEN = secret("DEPLOY_TOKEN") }
}
