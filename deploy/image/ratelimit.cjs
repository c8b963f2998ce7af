#!/nodejs/bin/node --min-semi-space-size=16
// Envoy Gateway, Istio and Contour start their rate limit service by the name /bin/ratelimit, with the environment of
// envoyproxy/ratelimit and without arguments. This starts `sluice serve`.
'use strict'
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

// /bin may be a link to /usr/bin: look upward for the folder of the app.
let folder = __dirname
const main = () => join(folder, 'app', 'node_modules', 'sluice-server', 'dist', 'bundle', 'main.js')
while (!existsSync(main()) && folder !== dirname(folder)) folder = dirname(folder)

process.argv.splice(2, 0, 'serve')
void import(pathToFileURL(main()).href)
