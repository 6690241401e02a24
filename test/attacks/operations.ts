import assert from 'node:assert/strict'
import { runToEnd } from '../support/process.ts'
import type { Attack } from './attack.ts'

const PUBLIC_ADDRESS = 'https://id.example.org'

/** The machine's own troubles must neither open nor hide anything. */
export const operationsAttacks: readonly Attack[] = [
  {
    attack: 'finds the public accounts of a playground behind a public base URL',
    outcome: 'the playground does not start',
    attempt: async () => {
      const option = await runToEnd(['serve', '--port', '0', '--base-url', PUBLIC_ADDRESS])
      const variable = await runToEnd(['serve', '--port', '0'], { env: { LATCHKEY_BASE_URL: PUBLIC_ADDRESS } })
      assert.deepEqual([option.status, variable.status], [2, 2])
      assert.match(option.stderr, /^latchkey: --base-url: .*only loopback[^\n]*\n$/)
      assert.match(variable.stderr, /^latchkey: LATCHKEY_BASE_URL: .*only loopback[^\n]*\n$/)
    },
  },
]
