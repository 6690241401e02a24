// Another process on the same database: runs a task with an argument, and prints the result as JSON.
import assert from 'node:assert/strict'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { EndedSession } from '../../src/model/sessions/ended-session.ts'
import { createSharedLimits } from '../../src/web/limits/shared-limits.ts'
import { at, client, key, token } from './records.ts'

const [url = '', task, argument = ''] = process.argv.slice(2)
const store = await openStore(url, { clock: systemClock })
const numbers = Array.from({ length: 20 }, (_, number) => number)

async function perform(): Promise<unknown> {
  switch (task) {
    case 'redeem': {
      const found = await Promise.all(numbers.map(() => store.codes.redeem('z1', argument, at(0))))
      return found.map(({ outcome }) => outcome)
    }
    case 'use':
      return Promise.all(numbers.map(() => store.tokens.use('z1', argument, at(0))))
    case 'use-again': {
      const used = { idDigest: 'first', grantId: 'grant', usedAt: at(5) }
      return Promise.all(numbers.map(() => store.tokens.useAgain(argument, used, at(8))))
    }
    case 'delete':
      return Promise.all(numbers.map(() => store.tokens.delete(argument, 't1')))
    case 'redeem-passcode': {
      const found = await Promise.all(numbers.map(() => store.oneTimeCodes.redeem(argument, 'passcode', 'p1')))
      return found.map(each => each !== undefined)
    }
    case 'use-assertion':
      return Promise.all(numbers.map(() => store.assertions.use(argument, 'a', at(100))))
    case 'save-first': {
      const keys = await store.keys.saveFirst('z1', key({ keyId: argument, active: true }))
      return keys.map(({ keyId }) => keyId)
    }
    case 'insert-tokens':
      for (let round = 0; round < 10; round += 1) {
        const digests = numbers.map(number => `${argument}-${round}-${number}`)
        await Promise.all(digests.map(idDigest => store.tokens.insert('z1', token({ idDigest }))))
      }
      return 'done'
    case 'claim-and-hang': {
      // Ended sessions until there are five, of which it finishes two; then it waits to be killed.
      const claimed: (EndedSession | undefined)[] = []
      while (claimed.length < 5) claimed.push(await store.endedSessions.claim(at(1), at(100)))
      for (const ended of claimed.slice(0, 2)) if (ended) await store.endedSessions.delete(ended)
      await store.leases.take('task', argument, 500)
      process.stdout.write(`${JSON.stringify(claimed.map(ended => ended?.id))}\n`)
      return new Promise(() => setInterval(() => {}, 1000))
    }
    case 'rename-client':
      return store.clients.update('z1', client({ name: argument })).then(() => 'done')
    case 'take': {
      const deps = {
        clock: systemClock,
        store,
        vault: { keyedDigest: (text: string) => text },
        onError: assert.ifError,
      }
      const limit = createSharedLimits(deps).open('test', { max: Number(argument), seconds: 60 })
      const taken = numbers.map(() => Promise.allSettled(numbers.map(() => limit.take('a'))))
      return (await Promise.all(taken)).flat().filter(({ status }) => status === 'fulfilled').length
    }
    default:
      throw new Error(`unknown task ${task}`)
  }
}

try {
  process.stdout.write(JSON.stringify(await perform()))
} finally {
  await store.close()
}
