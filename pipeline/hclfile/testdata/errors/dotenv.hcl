task "a" {
  run = ["true"]
  dotenv = [
    "",               # ERROR: a path in dotenv is empty
    "/etc/env",       # ERROR: a path in dotenv is an absolute path
    "a/../../.env",   # ERROR: dotenv leaves the root
    "*.env",          # ERROR: dotenv contains a pattern
    "env/",           # ERROR: dotenv names a folder
    ".",              # ERROR: dotenv names a folder
    1,                # ERROR: dotenv must be text in quotes
    secret("TOKEN"),  # ERROR: dotenv may not be made from a secret
  ]
}
task "b" {
  run    = ["true"]
  dotenv = ".env" # ERROR: Write dotenv = [".env"].
}
