'use strict'
// Stops this process, as SIGTERM does, when the one that started it has ended without passing a signal on: a launcher that was
// killed, or `npx`, whose shell passes none on. Written for whatever old Node.js happens to start it.
const { readFileSync } = require('fs')

const CHECK_MS = 500

/** Names the process id of the launcher to the process that it starts. */
const LAUNCHER = 'LATCHKEY_LAUNCHER'

/** The environment for a process that ends with this one. */
function environmentOfChild() {
  return Object.assign({}, process.env, { [LAUNCHER]: String(process.pid) })
}

/** Watches the launcher or `npx`; any other parent may end first, as a shell does that leaves the server in the background. */
function endWithStarter() {
  const launcher = Number(process.env[LAUNCHER]) || undefined
  delete process.env[LAUNCHER] // not for programs that this process starts
  if (launcher === undefined && process.env.npm_command !== 'exec') return
  const parent = launcher || process.ppid
  const npm = launcher === undefined ? npmAbove(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && isAlive(npm || parent)) return // on Windows an orphan keeps the id of its parent
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, CHECK_MS)
  timer.unref()
}

/** The npm whose shell is the parent. Linux only: elsewhere the end of the shell is all that can be seen. */
function npmAbove(parent) {
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8')
    const above = stat.slice(stat.lastIndexOf(')')).split(' ')[2] // ") state parent …"
    return readFileSync(`/proc/${above}/cmdline`, 'utf8').startsWith('npm exec') ? Number(above) : undefined
  } catch {
    return undefined
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM' // npm 7 and 8, if root runs them, start programs as the owner of the folder
  }
}

module.exports = { endWithStarter, environmentOfChild }
