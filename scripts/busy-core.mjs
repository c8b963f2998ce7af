// Keeps one core busy until its standard input closes, which it does however the process ends that holds the other end.
process.stdin.on('end', () => process.exit()).on('error', () => process.exit())
process.stdin.resume()

function spin() {
  const until = performance.now() + 20
  while (performance.now() < until);
  setImmediate(spin)
}
spin()
