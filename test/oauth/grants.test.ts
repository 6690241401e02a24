import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TOKEN_GRANT_TYPES } from '../../src/model/clients/grant-types.ts'
import { GRANTS } from '../../src/oauth/grants/grants.ts'

describe('Grants of the token endpoint', () => {
  it('match the list of grant types', () => {
    assert.deepEqual(GRANTS.map(({ type }) => type).toSorted(), TOKEN_GRANT_TYPES.toSorted())
  })
})
