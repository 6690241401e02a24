// The process of commands.ts: runs the command line again for each message, with output that it keeps.

const output = { stdout: '', stderr: '' }
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = text => {
    output[name] += String(text)
    return true
  }
}
let runs = 0
process.on('message', args => void run(args))

async function run(args: unknown): Promise<void> {
  process.argv.splice(2, Infinity, ...(args as readonly string[])) // commands.ts sends nothing else
  await import(`../../src/cli/latchkey.ts?${(runs += 1)}`) // evaluated anew, unlike what it imports
  process.send?.({ status: process.exitCode, ...output })
  Object.assign(output, { stdout: '', stderr: '' })
}
