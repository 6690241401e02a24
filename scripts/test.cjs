'use strict'
// `npm test`: runs tests/run-tests.ts on the pinned Node.js, whichever version started this file.
const path = require('path')
const { findNode, missingNodeMessage, runInstead } = require('../bin/find-node.cjs')

const node = findNode(path.join(__dirname, '..'))
if (node === undefined) {
  process.stderr.write(`${missingNodeMessage()}\n`)
  process.exitCode = 1
} else if (node !== process.execPath) {
  runInstead(node, [__filename].concat(process.argv.slice(2)))
} else {
  import('./tests/run-tests.ts').catch(error => {
    process.stderr.write(`${error.stack}\n`)
    process.exitCode = 1
  })
}
