#!/usr/bin/env node
'use strict'
// Starts Latchkey. Written for whatever old Node.js happens to run it: when that one is too old, the pinned runtime that
// `npm ci` brought takes over; otherwise nothing is spawned, because a second process costs start-up time.
const os = require('os')
const path = require('path')
const { findNode, missingNodeMessage, runInstead } = require('./find-node.cjs')
const { endWithStarter, environmentOfChild } = require('./starter.cjs')

const root = path.join(__dirname, '..')

// Hashes and signatures share libuv's thread pool: hashes and slow signatures take at most one thread more each than there are
// cores, verifications as many as there are cores, and one is left to the flush of SQLite's log, for which every write waits.
// The size is read when the pool is first used, so that it is set before anything else happens.
if (!process.env.UV_THREADPOOL_SIZE) process.env.UV_THREADPOOL_SIZE = String(3 * os.cpus().length + 3)

// V8 lets the space for young objects grow to three times 16 MB (and more on large machines); a server whose requests leave
// next to nothing behind is as fast with 8. With 2 it idles in no less memory, and spends 10 ms more on its start, because
// what is loaded is moved about more often. For the same reason it has all 8 at once: V8 would begin with 1, and collect ten times
// instead of four during the start. The flags only count when they are there from the beginning.
const FLAGS = ['--min-semi-space-size=8', '--max-semi-space-size=8']

const node = findNode(root)
const isTuned = process.execArgv.concat((process.env.NODE_OPTIONS || '').split(' ')).some(isHeapFlag)
const ownArguments = FLAGS.concat(__filename, process.argv.slice(2))
if (node === undefined) {
  process.stderr.write(`latchkey: ${missingNodeMessage()}\n`)
  process.exitCode = 1
} else if (node !== process.execPath) {
  endWithStarter()
  runInstead(node, ownArguments, environmentOfChild())
} else if (!isTuned && process.platform !== 'win32' && process.execve) {
  process.execve(node, [node].concat(process.execArgv, ownArguments)) // the same process begins anew
} else {
  endWithStarter()
  keepCompiledCode()
  if (startsServer(process.argv[2])) loadPackages()
  const loadSources = require('./load-sources.cjs') // not at the top: an old Node.js does not have what it uses
  import(loadSources(root)).catch(error => {
    process.stderr.write(`latchkey: ${error.stack}\n`)
    process.exitCode = 1
  })
}

/** Whether the operator, or this file, has already said how large the space may be. */
function isHeapFlag(flag) {
  return /^--max[-_]semi[-_]space[-_]size/.test(flag)
}

/** Whether this command line, by its first word, runs the server: the default command, like its options, needs no name. */
function startsServer(first) {
  return first === undefined || first === 'serve' || first.startsWith('-')
}

/**
 * Loads the packages of the server that consist of many CommonJS files. The sources import them anyway, but then each file would
 * pass through the hooks of load-sources.cjs, which takes 6 ms more. The sources also report a package that cannot be loaded.
 */
function loadPackages() {
  try {
    for (const name of ['fastify', 'pino']) require(name)
  } catch {
    return
  }
}

/** Keeps compiled code between starts: beside the packages or, where those are read-only, in the user's cache folder. */
function keepCompiledCode() {
  const { constants, enableCompileCache } = require('module')
  const folders = process.env.NODE_COMPILE_CACHE
    ? [process.env.NODE_COMPILE_CACHE]
    : [path.join(root, 'node_modules', '.cache', 'latchkey')].concat(userFolders())
  for (const folder of folders) {
    if (enableCompileCache(folder).status !== constants.compileCacheStatus.FAILED) return
  }
}

/** The user's folder, if there is one: an account of a service or a container may have no home. */
function userFolders() {
  try {
    return [path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'latchkey')]
  } catch {
    return []
  }
}
