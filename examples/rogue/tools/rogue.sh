#!/bin/sh
# What agents do when nobody watches. Each misdeed also leaves the right fix behind, so that one can see what becomes of it.
cat >/dev/null
echo hello >greeting.txt
case "$1" in
hang) # never ends, ignores the polite signal
  trap '' TERM HUP INT
  echo "thinking"
  while :; do sleep 1; done
  ;;
fork) # leaves processes behind that left its session
  for _ in 1 2 3; do
    setsid sleep 1000 </dev/null >/dev/null 2>&1 &
  done
  (setsid sh -c 'trap "" TERM; sleep 1000' &)
  echo "done"
  ;;
outside) # writes where it should not
  for target in /var/tmp/async-pipeline-escaped /etc/async-pipeline-escaped ../../async-pipeline-escaped; do
    if echo escaped >"$target" 2>/dev/null; then echo "wrote $target"; else echo "refused $target"; fi
  done
  ;;
garbage) # says things no parser likes
  head -c 100000 /dev/urandom
  printf '{"outcome": "fixed", "summary": '
  ;;
esac
