// `npm run chaos [-- NAME ...]`: injects faults into real servers under load, and verifies acknowledged operations. Without names, all
// scenarios are run; `--list` prints them.
import { parseArgs } from 'node:util'
import { SCENARIOS } from '../test/chaos/scenarios.ts'
import type { Scenario } from '../test/chaos/scenarios.ts'
import { runWithTrouble, openScene, RATE, settle } from '../test/chaos/scene.ts'
import type { Endured } from '../test/chaos/scene.ts'

const { values, positionals } = parseArgs({
  options: { list: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const chosen = SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const unknown = positionals.filter(name => !SCENARIOS.some(scenario => scenario.name === name))
if (unknown.length > 0) {
  console.error(`No such scenario: ${unknown.join(' ')}`)
  process.exit(2)
}
if (values.list) {
  for (const { name, about } of chosen) console.log(`${name.padEnd(24)}${about}`)
  process.exit(0)
}

/** Returns the problems. */
async function runScenario({
  name,
  place,
  trouble,
  missing,
  isUnnoticed = false,
}: Scenario): Promise<readonly string[]> {
  const reason = missing?.()
  const scene = reason === undefined ? await openScene(place) : undefined
  if (scene === undefined) {
    console.log(`-  ${name.padEnd(24)}not tried: ${reason ?? 'no file system may be mounted here'}`)
    return []
  }
  let endured: Endured | undefined
  const wrong: string[] = []
  try {
    await settle(scene, 4 * RATE)
    endured = await runWithTrouble(scene, trouble)
    if (isUnnoticed && endured.refused + endured.broken > 0) wrong.push('some operations failed')
  } catch (error) {
    wrong.push(error instanceof Error ? error.message : String(error))
  }
  const finished = await scene.finish().catch((error: unknown) => ({ wrong: [String(error)], compared: '' }))
  wrong.push(...finished.wrong)
  await scene.close()
  const counts = endured
    ? `${endured.done} done, ${endured.refused} refused, ${endured.broken} without an answer; well ${(endured.recoveryMs / 1000).toFixed(1)} s after; `
    : ''
  console.log(`${wrong.length === 0 ? '✔' : '✖'}  ${name.padEnd(24)}${counts}compared: ${finished.compared}`)
  for (const line of wrong.slice(0, 10)) console.log(`     ${line.slice(0, 600)}`)
  return wrong
}

let failures = 0
for (const scenario of chosen) if ((await runScenario(scenario)).length > 0) failures += 1
console.log(`\n${chosen.length - failures} of ${chosen.length} scenarios hold.`)
process.exit(failures === 0 ? 0 : 1)
