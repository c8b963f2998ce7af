// Preloaded into the process that is measured: writes what it took to standard error when it ends.
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  const { maxRSS } = process.resourceUsage()
  process.stderr.write(`${JSON.stringify({ cpuMs: (user + system) / 1_000, rssMib: maxRSS / 1_024 })}\n`)
})
