#!/nodejs/bin/node --min-semi-space-size=16
// The command line of Sluice: sluice health, sluice check, sluice serve and others.
'use strict'
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

// /bin may be a link to /usr/bin: look upward for the folder of the app.
let folder = __dirname
const main = () => join(folder, 'app', 'node_modules', 'sluice-server', 'dist', 'bundle', 'main.js')
while (!existsSync(main()) && folder !== dirname(folder)) folder = dirname(folder)

void import(pathToFileURL(main()).href)
