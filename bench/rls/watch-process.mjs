import { writeSync } from 'node:fs'
import { ProcessWatch } from '../process-watch.mjs'

// Loaded before a server, with --import: on SIGUSR2 it writes what its process did since the last time, as a line of
// JSON, to file descriptor 3.

const WATCH_FD = 3

const watch = new ProcessWatch()
process.on('SIGUSR2', () => writeSync(WATCH_FD, `${JSON.stringify(watch.take())}\n`))
