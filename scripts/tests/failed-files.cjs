'use strict'
// A reporter of `node --test`, which takes what a CommonJS file exports: prints the test files in which something failed, one
// on each line, each once, relative to the working directory.
const path = require('path')

module.exports = async function* failedFiles(events) {
  const failed = new Set()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || failed.has(data.file)) continue
    failed.add(data.file)
    yield `${path.relative('', data.file)}\n`
  }
}
