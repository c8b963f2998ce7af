import { writeFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'

// Loaded before a program, it writes the addresses of the files that this has loaded to LOADED_FILES, at the end, as JSON.

const hooks = `
  let port
  export function initialize(given) { port = given.port }
  export function load(url, context, next) {
    if (url.startsWith('file:')) port.postMessage(url)
    return next(url, context)
  }`
const { port1, port2 } = new MessageChannel()
port1.unref()
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { port: port2 }, transferList: [port2] })

function* imported() {
  for (let next = receiveMessageOnPort(port1); next !== undefined; next = receiveMessageOnPort(port1))
    yield next.message
}

process.on('exit', () => {
  const required = Object.keys(createRequire(import.meta.url).cache).map((path) => `file://${path}`)
  writeFileSync(process.env.LOADED_FILES, JSON.stringify([...imported(), ...required]))
})
