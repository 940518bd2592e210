agent "a" {
  cli       = "claude"    # ERROR: `cli` needs
  model     = "m"         # ERROR: `model` needs
  args      = []          # ERROR: `args` needs
  api_key   = secret("K") # ERROR: `api_key` needs
  base_url  = "https://x" # ERROR: `base_url` needs
  provider  = "p"         # ERROR: `provider` needs
  max_turns = 3           # ERROR: `max_turns` needs
  retry {                 # ERROR: `retry` needs
  }
}
