package review

// new_network and new_process: calls that the file did not have before.

import "strings"

var networks = map[string][]pattern{
	"go":    {pat(onCode, false, "", `\bhttp\.(?:Get|Post|PostForm|Head|NewRequest\w*|ListenAndServe\w*|Serve|DefaultClient|Client\{)|\bnet\.(?:Dial\w*|Listen\w*|Lookup\w+|Dialer\{)|\b(?:rpc|smtp|tls|grpc|websocket|ssh)\.(?:Dial\w*|NewClient|SendMail|Listen)\b`, "http.", "net.", "rpc.", "smtp.", "tls.", "ssh.", "websocket.")},
	"web":   {pat(onPlain, false, "", `(?:\brequire\s*\(|\bfrom|\bimport\s*\(?)\s*['"](?:node:)?(?:https?|net|tls|dgram|http2|dns|axios|node-fetch|undici|got|ws|request|superagent|socket\.io-client|ssh2|nodemailer)['"]|(?:^|[^\w.$])fetch\s*\(|\bnew\s+(?:WebSocket|XMLHttpRequest|EventSource)\b|\bnavigator\.sendBeacon\b|\b(?:Deno|Bun)\.(?:connect|listen|serve)\b`)},
	"py":    {pat(onPlain, false, "", `^\s*(?:import|from)\s+(?:socket|ssl|requests|urllib\d?\.request|urllib3|http\.(?:client|server)|httpx|aiohttp|smtplib|ftplib|telnetlib|paramiko|websockets?|xmlrpc|socketserver|pycurl)\b|\burllib\.request\.\w+\(|\burlopen\s*\(|\brequests\.(?:get|post|put|delete|patch|head|request|Session)\b|\bsocket\.(?:socket|create_connection|create_server)\b|\bhttpx\.\w+\(`)},
	"rust":  {pat(onCode, false, "", `\b(?:TcpStream::connect|TcpListener::bind|UdpSocket::bind|UnixStream::connect|reqwest::|hyper::|ureq::|tungstenite::)\w*`, "::")},
	"c":     {pat(onCode, false, "", `(?:^|[^\w.>])(?:socket|connect|getaddrinfo|gethostbyname|sendto|recvfrom|accept4?)\s*\(|\bcurl_easy_\w+|\bcurl_global_init\b`, "(", "curl")},
	"jvm":   {pat(onCode, false, "", `\bnew\s+(?:Server)?Socket\s*\(|\bHttpClient\b|\bHttpURLConnection\b|\b(?:openConnection|openStream)\s*\(|\bOkHttpClient\b|\bRestTemplate\b|\bWebClient\b|\bDatagramSocket\b`)},
	"ruby":  {pat(onCode, false, "", `\bNet::HTTP\b|\bTCPSocket\b|\bUDPSocket\b|\bURI\.open\b|\bFaraday\b|\bHTTParty\b|\bOpenURI\b`)},
	"php":   {pat(onCode, false, "", `\bcurl_init\s*\(|\bfsockopen\s*\(|\bstream_socket_client\s*\(|\bsocket_create\s*\(`)},
	"shell": {pat(onCode, false, "", `(?:^|[;&|(]|\b(?:if|then|do|else|while|!|sudo|exec)\s)\s*(?:curl|wget|nc|ncat|netcat|socat|ssh|scp|rsync|telnet|ftp)\s|/dev/(?:tcp|udp)/`)},
}

var processes = map[string][]pattern{
	"go":   {pat(onCode, false, "", `\bexec\.Command(?:Context)?\s*\(|\bos\.StartProcess\s*\(|\bsyscall\.(?:Exec|ForkExec|StartProcess)\s*\(|\bunix\.Exec\s*\(|\bplugin\.Open\s*\(`, "xec", "StartProcess", "plugin.")},
	"web":  {pat(onPlain, false, "", `(?:\brequire\s*\(|\bfrom|\bimport\s*\(?)\s*['"](?:(?:node:)?(?:child_process|cluster)|execa|cross-spawn|shelljs|zx)['"]|\b(?:child_process|cp)\.(?:exec|spawn|fork)\w*\s*\(|\bnew\s+Deno\.Command\b|\bBun\.spawn\w*\s*\(|(?:^|[^\w.$])(?:eval\s*\(|new\s+Function\s*\()`)},
	"py":   {pat(onPlain, false, "", `^\s*(?:import|from)\s+(?:subprocess|pty|pexpect|sh)\b|\bsubprocess\.\w+\(|\bos\.(?:system|popen|fork|forkpty|startfile|exec[lv]\w*|spawn\w*|posix_spawn\w*)\s*\(|\bpty\.spawn\s*\(|\basyncio\.create_subprocess_\w+|(?:^|[^\w.])(?:eval|exec)\s*\(|\b__import__\s*\(`)},
	"rust": {pat(onCode, false, "", `\bCommand::new\s*\(|\blibc::(?:fork|exec\w*|system)\b`, "::")},
	"c":    {pat(onCode, false, "", `(?:^|[^\w.>])(?:system|popen|v?fork|exec[lv]p?e?|posix_spawnp?|dlopen)\s*\(`, "(")},
	"jvm":  {pat(onCode, false, "", `\bgetRuntime\(\)\.exec\s*\(|\bnew\s+ProcessBuilder\b|\bProcessBuilder\s*\(`)},
	"ruby": {pat(onPlain, false, "", `\b(?:Open3|IO)\.(?:popen|capture)\w*|(?:^|[^\w.:])(?:system|exec|spawn|fork)\s*[( ]\s*['"\[]|\bKernel\.(?:system|exec|spawn)\b|%x[{(\[]`)},
	"php":  {pat(onCode, false, "", `(?:^|[^\w>:$])(?:shell_exec|exec|system|passthru|proc_open|popen|pcntl_\w+|eval)\s*\(`)},
}

func (r *report) reaches(e *edit) {
	if !e.production() || !e.exists() {
		return
	}
	r.reach(e, NewNetwork, networks[e.language])
	r.reach(e, NewProcess, processes[e.language])
}

// reach reports the first new line of each call that the file did not make before.
func (r *report) reach(e *edit, rule string, patterns []pattern) {
	if len(patterns) == 0 || len(e.added) == 0 {
		return
	}
	known := map[string]bool{}
	name := func(m string) string { return strings.Trim(strings.Join(strings.Fields(m), ""), ";&|({!,= ") }
	var wanted []int
	for _, j := range e.added {
		if !e.moved[j] && !e.inTests(j) && len(patterns[0].find(e.after, j)) > 0 {
			wanted = append(wanted, j)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for i := range e.before.lines {
		for _, m := range patterns[0].find(e.before, i) {
			known[name(m)] = true
		}
	}
	for _, j := range wanted {
		for _, m := range patterns[0].find(e.after, j) {
			if !known[name(m)] {
				known[name(m)] = true
				r.add(e, rule, j, false, "%s", name(m))
			}
		}
	}
}
