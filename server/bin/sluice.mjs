#!/usr/bin/env node
// The command of the package. A file of its own, so that npm can link it before anything is built.
import '../dist/bundle/main.js'
