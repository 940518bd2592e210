#!/bin/sh
cat > prompt.tmp
rm prompt.tmp
sed -i 's/sum = 5/sum = 4/' sum.go
echo '{"outcome": "fixed", "summary": "two and two are four", "root_cause": "the sum was wrong"}'
