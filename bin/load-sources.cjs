'use strict'
// Finds and reads the server's own modules without asking the file system what each import could mean: all of them name a
// file with its ending. This takes a seventh off the time until the server is ready.
const { readFileSync } = require('fs')
const { registerHooks } = require('module')
const path = require('path')
const { fileURLToPath, pathToFileURL } = require('url')

const FORMAT = 'module-typescript'

/** Takes over the imports of one `.ts` file by another below `folder`; leaves everything else to Node.js. */
module.exports = function loadSources(folder) {
  const sources = pathToFileURL(folder + path.sep).href
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context
      const isOwn = specifier.startsWith('.') && specifier.endsWith('.ts') && parentURL.startsWith(sources)
      if (!isOwn) return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format: FORMAT, shortCircuit: true }
    },
    load(url, context, next) {
      const isOwn = context.format === FORMAT && url.startsWith(sources)
      if (!isOwn) return next(url, context)
      return { source: readFileSync(fileURLToPath(url), 'utf8'), format: FORMAT, shortCircuit: true }
    },
  })
}
