// `npm run fuzz [-- TARGET] [--runs N] [--seed S] [--path P] [--seconds N]`: runs all targets of test/fuzz, or one, for long.
// Prints executions, rate and seed; a counterexample with the path that replays it, and what to put into the corpus. Ends with
// status 1 if there is one. Only one target runs at a time.
import { parseArgs } from 'node:util'
import { TARGETS } from '../test/fuzz/targets.ts'

/** CPU time limit of one input. Generous: the slowest valid ones take a few milliseconds. */
const MAX_MILLISECONDS = 1000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const [wanted] = positionals
const chosen = TARGETS.filter(({ name }) => wanted === undefined || name === wanted)
const runs = Number(values.runs)
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
if (chosen.length === 0 || positionals.length > 1 || !Number.isSafeInteger(runs) || !Number.isSafeInteger(seed)) {
  console.error(`Usage: npm run fuzz [-- TARGET] [--runs N] [--seed S] [--path P] [--seconds N]; the targets are:`)
  console.error(TARGETS.map(({ name }) => name).join(' '))
  process.exit(2)
}

for (const { name, corpus, replay, run } of chosen) {
  for (const { why, input } of corpus) {
    await replay(input).catch((cause: unknown) => {
      throw new Error(`${name}: ${why}`, { cause })
    })
  }
  const begin = process.hrtime.bigint()
  const { executions, verdicts, longestMilliseconds, failure } = await run({
    runs,
    seed,
    maxMilliseconds: MAX_MILLISECONDS,
    ...(values.path !== undefined && { path: values.path }),
    ...(values.seconds !== undefined && { seconds: Number(values.seconds) }),
  })
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9
  const rate = Math.round(executions / seconds)
  const shares = `${verdicts.read} read, ${verdicts.refused} refused, at most ${longestMilliseconds.toFixed(0)} ms`
  console.log(`${name}: ${executions} executions, ${rate} a second, seed ${seed}; ${shares}`)
  if (failure) {
    process.exitCode = 1
    console.log(`  ${failure.message.replaceAll('\n', '\n  ')}`)
    console.log(`  replay: npm run fuzz -- ${name} --seed ${seed} --path ${failure.path}`)
    console.log(`  for test/fuzz/corpus/${name}.json: ${JSON.stringify({ why: '', input: failure.input })}`)
  }
}
