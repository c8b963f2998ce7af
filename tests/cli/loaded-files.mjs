import { writeFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { MessageChannel } from 'node:worker_threads'

// Loaded before a program, it writes to LOADED_FILES at the end what that has loaded: a line of JSON. The hooks below run
// in a thread, for which modules of Node.js are loaded; so those are listed in a run without hooks (LOADED_BUILTINS).

const { LOADED_FILES, LOADED_BUILTINS } = process.env
const before = new Set(process.moduleLoadList)
const files = []

if (LOADED_FILES !== undefined) {
  const hooks = `
    let port
    export function initialize(given) { port = given.port }
    export function load(url, context, next) {
      if (url.startsWith('file:')) port.postMessage(url)
      return next(url, context)
    }`
  const { port1, port2 } = new MessageChannel()
  port1.on('message', (url) => files.push(url)).unref()
  register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { port: port2 }, transferList: [port2] })
}

process.on('exit', () => {
  const required = Object.keys(createRequire(import.meta.url).cache).map((path) => `file://${path}`)
  if (LOADED_FILES !== undefined) writeFileSync(LOADED_FILES, JSON.stringify([...files, ...required]))
  if (LOADED_BUILTINS === undefined) return
  const builtins = process.moduleLoadList.filter((name) => !before.has(name) && name.startsWith('NativeModule '))
  writeFileSync(LOADED_BUILTINS, JSON.stringify(builtins.map((name) => name.slice('NativeModule '.length))))
})
