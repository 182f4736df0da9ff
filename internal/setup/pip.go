package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A pip is a command line that starts pip.
type pip []string

// findPip returns the first pip that answers.
func findPip(ctx context.Context) (pip, error) {
	var pythons []string
	for _, p := range []pip{{"python3", "-m", "pip"}, {"python", "-m", "pip"}, {"pip3"}, {"pip"}} {
		if _, err := exec.LookPath(p[0]); err != nil {
			continue
		}
		if strings.HasPrefix(p[0], "python") {
			pythons = append(pythons, p[0])
		}
		if strings.HasPrefix(output(ctx, p[0], append(p[1:], "--version")...), "pip ") {
			return p, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if len(pythons) > 0 {
		return nil, &Failure{
			What: "no pip to download libtorch with: " + pythons[0] + " is there, its module pip is not",
			Fix:  append([]string{pythons[0] + " -m ensurepip --user", "apt-get install python3-pip"}, ownLibtorch),
		}
	}
	return nil, &Failure{
		What: "no Python to download libtorch with: looked for python3, python, pip3 and pip on PATH",
		Fix:  []string{"apt-get install python3 python3-pip", "dnf install python3-pip", ownLibtorch},
	}
}

// ownLibtorch is the way out of every failed download.
const ownLibtorch = "LIBTORCH=/path/to/libtorch torchfx setup, with libtorch " + TorchVersion + " already on this machine"

// fetch downloads w into dir unless it is there already, and returns its file.
// The content is checked by hash whoever downloaded it. stage is a folder of the
// same file system for what is half done.
func (p pip) fetch(ctx context.Context, w wheel, dir, stage string, show Reporter) (string, error) {
	file := filepath.Join(dir, w.fileName())
	if isFile(file) {
		if sum, err := fileSHA256(file); err == nil && sum == w.sha256 {
			return file, nil
		}
		os.Remove(file)
	}
	part, err := os.MkdirTemp(stage, "download-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := p.download(ctx, w, part, show); err != nil {
		return "", err
	}
	got, _ := filepath.Glob(filepath.Join(part, "*.whl"))
	if len(got) != 1 {
		return "", &Failure{
			What: fmt.Sprintf("pip said it downloaded %s %s, and left no wheel", w.project, w.version),
			Fix:  []string{strings.Join(p, " ") + " download --no-deps " + w.project + "==" + w.version, ownLibtorch},
		}
	}
	sum, err := fileSHA256(got[0])
	if err != nil {
		return "", err
	}
	if sum != w.sha256 {
		return "", corrupted(w, fmt.Errorf("expected SHA-256 %s, got %s", w.sha256, sum))
	}
	return file, errors.Join(os.MkdirAll(dir, 0o755), os.Rename(got[0], file))
}

// fileName is the name of w in the download folder: not the index's, which pip
// knows and we need not.
func (w wheel) fileName() string {
	return w.project + "-" + w.version + "-" + w.sha256[:12] + ".whl"
}

// download lets pip write the wheel into part. The file grows below pip's
// temporary folder, which is why that lies in part too: its size is the progress.
func (p pip) download(ctx context.Context, w wheel, part string, show Reporter) error {
	tmp := filepath.Join(part, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	requirement := filepath.Join(part, "requirement.txt")
	line := fmt.Sprintf("%s==%s --hash=sha256:%s\n", w.project, w.version, w.sha256)
	if err := os.WriteFile(requirement, []byte(line), 0o644); err != nil {
		return err
	}
	args := append(p[1:len(p):len(p)], "download", "--requirement", requirement, "--dest", part,
		"--no-deps", "--only-binary", ":all:", "--platform", w.platform, "--implementation", "cp",
		"--python-version", pythonTag, "--require-hashes",
		// the wheel is unpacked once and deleted: a cache would only double it
		"--no-cache-dir", "--retries", "3", "--progress-bar", "off")
	cmd := exec.CommandContext(ctx, p[0], args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PIP_REQUIRE_VIRTUALENV=0", "LC_ALL=C")
	stopWithChildren(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out

	task := show.Begin("download "+w.project+" "+w.version, w.size)
	stop := every(func() { task.At(min(largestFile(part), w.size)) })
	err := cmd.Run()
	stop()
	task.End()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return p.explain(w, out.String(), err)
	}
	return nil
}

// explain turns what pip printed into what to do about it. The texts it looks for
// are those of pip 9 to 26 and of the system below.
func (p pip) explain(w wheel, text string, err error) error {
	has := func(parts ...string) bool { return lineWith(text, parts) != "" }
	what := w.project + " " + w.version
	cause := lastLines(text, 4)
	switch {
	case has("No space left on device", "Disk quota exceeded"):
		return &Failure{
			What: "the disk is full: no room to download " + what,
			Fix:  []string{"free some space", "TORCHFX_HOME=/folder/on/another/disk torchfx setup"},
		}
	case has("DO NOT MATCH THE HASHES"):
		return corrupted(w, cause)
	case has(networkTexts...):
		return &Failure{
			What: "no network: pip cannot reach its package index to download " + what,
			Fix: []string{"connect this machine, set HTTPS_PROXY or PIP_INDEX_URL if it needs them, and run torchfx setup again",
				ownLibtorch},
			Err: errors.New(lineWith(text, networkTexts)),
		}
	case has("No matching distribution found"):
		return &Failure{
			What: fmt.Sprintf("the package index that pip uses has no %s for %s", what, w.platform),
			Fix: []string{"look at `" + strings.Join(p, " ") + " config list`: an index of your own may lack the official wheels; PIP_INDEX_URL sets another",
				strings.Join(p, " ") + " install --upgrade pip, if it is very old", ownLibtorch},
			Err: cause,
		}
	}
	return &Failure{
		What: "pip could not download " + what,
		Fix:  []string{"mend what pip says and run torchfx setup again", ownLibtorch},
		Err:  fmt.Errorf("%w: %w", err, cause),
	}
}

// networkTexts are what pip, urllib3 and the system say when a connection does not
// come about or breaks.
var networkTexts = []string{
	"Temporary failure in name resolution", "Name or service not known", "getaddrinfo failed", "nodename nor servname",
	"Failed to establish a new connection", "NewConnectionError", "Network is unreachable", "Connection refused", "Connection reset",
	"ConnectTimeoutError", "Read timed out", "ProxyError", "Cannot connect to proxy", "Max retries exceeded", "SSLError",
	"CERTIFICATE_VERIFY_FAILED", "IncompleteRead", "Connection broken",
}

// lineWith returns the last line of text that holds one of the parts, "" where
// none does.
func lineWith(text string, parts []string) (found string) {
	for line := range strings.Lines(text) {
		for _, part := range parts {
			if strings.Contains(line, part) {
				found = strings.TrimSpace(line)
			}
		}
	}
	return found
}

func corrupted(w wheel, err error) error {
	return &Failure{
		What: fmt.Sprintf("corrupted download: %s %s is not the official file", w.project, w.version),
		Fix:  []string{"torchfx setup, which downloads it again", "PIP_INDEX_URL=… torchfx setup, if a mirror or proxy keeps a damaged copy", ownLibtorch},
		Err:  err,
	}
}

// lastLines returns the last n lines of text that say something.
func lastLines(text string, n int) error {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return errors.New("it printed nothing")
	}
	return errors.New(strings.Join(lines[max(0, len(lines)-n):], "\n    "))
}

// largestFile is the size of the largest file below dir: pip writes the wheel once
// below its temporary folder and then copies it.
func largestFile(dir string) int64 {
	var most int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				most = max(most, info.Size())
			}
		}
		return nil
	})
	return most
}
