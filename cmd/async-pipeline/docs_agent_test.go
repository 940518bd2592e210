package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/agentprobe"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// claudesKey is the key of the person in the story "agent".
const claudesKey = "canary-key-of-the-person-0123456789"

// installable begins the story "agent": a project with a bug, a person with a key of Anthropic's, and an npm that
// installs claude. api.anthropic.com is a scripted provider, behind the proxy of the person's environment. claude is
// the real one where ASYNC_PIPELINE_AGENTS tells where it is, else scriptedClaude.
func (p *docPage) installable() {
	p.t.Helper()
	bug, err := fs.Sub(os.DirFS(top), "examples/go-bug")
	must(p.t, err)
	p.dir = filepath.Join(p.t.TempDir(), "shop")
	must(p.t, os.CopyFS(p.dir, bug))
	must(p.t, os.Remove(filepath.Join(p.dir, "PIPELINE.hcl")))
	must(p.t, os.RemoveAll(filepath.Join(p.dir, "tools")))
	p.git("init", "-q")
	p.git("add", "-A")
	p.git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "x")
}

// provided adds to the environment of the story "agent" what installable promises.
func (p *docPage) provided() {
	p.t.Helper()
	provider := &modeltest.Repairer{
		Tool: "Bash", Argument: "command", Command: "sed -i 's/Count > 10/Count >= 10/' cart/cart.go; env", Key: claudesKey,
		Answer: `{"outcome": "fixed", "summary": "The free piece starts at ten pieces, not at eleven."}`,
	}
	folder := p.t.TempDir()
	trusted := filepath.Join(folder, "trusted.pem")
	proxy := serveAs(p.t, "api.anthropic.com", provider, trusted)
	claude := agentprobe.Find("claude", os.Getenv(realAgents))
	if claude == "" {
		claude = filepath.Join(folder, "claude")
		this, err := os.Executable()
		must(p.t, err)
		if os.Link(this, claude) != nil { // another file system
			text, err := os.ReadFile(this)
			must(p.t, err)
			must(p.t, writeProgram(claude, text))
		}
	}
	bin := filepath.Join(folder, "bin")
	must(p.t, os.Mkdir(bin, 0o755))
	npm := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = 'install -g @anthropic-ai/claude-code' ] && ln -s %s %s/claude && echo added 1 package\n", claude, bin)
	must(p.t, writeProgram(filepath.Join(bin, "npm"), []byte(npm)))
	p.env[0] = "PATH=" + bin + ":" + strings.TrimPrefix(p.env[0], "PATH=")
	p.env = append(p.env, "HTTPS_PROXY="+proxy, "SSL_CERT_FILE="+trusted, "ANTHROPIC_API_KEY="+claudesKey)
	p.t.Cleanup(func() { // the context of the test has ended by then
		if n, shown := provider.Asked(); n < 2 || shown {
			p.t.Errorf("the provider was asked %d times; a command of the model could read the key: %t", n, shown)
		}
		if err := provider.Wrong(); err != nil {
			p.t.Error(err)
		}
		if found, err := exec.CommandContext(context.Background(), "grep", "-rl", claudesKey, p.dir).Output(); exitCode(err) != 1 {
			p.t.Errorf("the key is in %s", found)
		}
		records, _ := filepath.Glob(filepath.Join(p.dir, ".async", "runs", "*", "fixes", "test.json"))
		if record, err := os.ReadFile(strings.Join(records, "")); err != nil || !bytes.Contains(record, []byte(`"metered":true`)) {
			p.t.Errorf("nothing was metered: %v\n%s", err, record)
		}
	})
}

// serveAs serves h as an https host that is found only through a proxy, whose address it returns. trusted becomes the
// file with the authority that vouches for the host.
func serveAs(t *testing.T, host string, h http.Handler, trusted string) (proxy string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	must(t, err)
	must(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			http.Error(w, "this proxy knows "+host+" only", http.StatusForbidden)
			return
		}
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = there.Close() }() // both ends are read to their end
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = here.Close() }()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n") // a client that is gone is seen below
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// scriptedClaude is what the tests are where they are started by the name claude: an agent CLI that asks for its
// provider as Claude Code does, has one tool, and prints the same events. It knows no key but the one of its
// environment.
func scriptedClaude() int {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("2.1.329 (Claude Code)")
		return 0
	}
	prompt, err := io.ReadAll(os.Stdin)
	say := func(v map[string]any) {
		line, _ := json.Marshal(v) // texts
		fmt.Printf("%s\n", line)
	}
	say(map[string]any{"type": "system", "subtype": "init", "session_id": "s1", "claude_code_version": "2.1.329"})
	m := &model.Model{
		Provider: model.Anthropic, Name: "claude-sonnet-4-5", BaseURL: os.Getenv("ANTHROPIC_BASE_URL"),
		Key: os.Getenv("ANTHROPIC_API_KEY"),
	}
	talk := []model.Message{{Role: model.User, Blocks: []model.Block{{Text: string(prompt)}}}}
	bash := model.Tool{Name: "Bash", Description: "runs a command", Schema: []byte(`{"type":"object"}`)}
	for err == nil {
		var a model.Answer
		if a, err = m.Turn(context.Background(), model.Request{Messages: talk, Tools: []model.Tool{bash}, MaxTokens: 1000}, nil); err != nil {
			break
		}
		var text string
		var results []model.Block
		for _, b := range a.Blocks {
			text += b.Text
			if b.Call == nil {
				continue
			}
			say(map[string]any{"type": "assistant", "message": map[string]any{"content": []any{
				map[string]any{"type": "tool_use", "id": b.Call.ID, "name": b.Call.Name, "input": b.Call.Args},
			}}})
			var args struct{ Command string }
			_ = json.Unmarshal(b.Call.Args, &args) // else the shell has nothing to do
			out, failed := exec.CommandContext(context.Background(), "/bin/sh", "-c", args.Command).CombinedOutput()
			say(map[string]any{"type": "user", "message": map[string]any{"content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": b.Call.ID, "content": string(out), "is_error": failed != nil},
			}}})
			results = append(results, model.Block{Result: &model.Result{ID: b.Call.ID, Name: b.Call.Name, Text: string(bytes.TrimSpace(out))}})
		}
		if results == nil {
			say(map[string]any{"type": "result", "subtype": "success", "is_error": false, "session_id": "s1", "result": text})
			return 0
		}
		talk = append(talk, model.Message{Role: model.Assistant, Blocks: a.Blocks}, model.Message{Role: model.User, Blocks: results})
	}
	say(map[string]any{"type": "result", "subtype": "success", "is_error": true, "result": "API Error: " + err.Error()})
	return 1
}
