import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { supportsProtocol } from '../../../src/model/zones/protocols.ts'
import { confirmationIn, isMet } from '../../../src/model/tokens/confirmation.ts'
import { PROTOCOLS } from '../../../src/records/protocols.ts'
import type { Protocol } from '../../../src/records/protocols.ts'

const standard = behaviourOf('standard')
const uaa = behaviourOf('uaa')
const names = Object.keys(PROTOCOLS) as readonly Protocol[] // its keys

describe('the protocols of a zone', () => {
  it('are those of the mode unless it says, but for what lets strangers in', () => {
    const spoken = (behaviour: typeof standard) =>
      names.filter(name => supportsProtocol({ config: {} }, name, behaviour))
    assert.deepEqual(spoken(uaa), [])
    const asked = names.filter(name => name !== 'clientMetadataDocuments')
    assert.deepEqual(spoken(standard), asked)
  })

  it('are switched one by one', () => {
    for (const name of names) {
      assert.equal(supportsProtocol({ config: { protocols: { [name]: true } } }, name, uaa), true)
      assert.equal(supportsProtocol({ config: { protocols: { [name]: false } } }, name, standard), false)
    }
  })
})

describe('what a token is bound to', () => {
  it('is read from its claim', () => {
    assert.equal(confirmationIn(undefined), undefined)
    assert.deepEqual(confirmationIn({ jkt: 'a' }), { jkt: 'a' })
    assert.deepEqual(confirmationIn({ jkt: 'a', 'x5t#S256': 'b' }), { jkt: 'a', 'x5t#S256': 'b' })
  })

  for (const cnf of [null, {}, [], 'jkt', { jkt: '' }, { jkt: 1 }, { jwk: {} }, { jkt: 'a', kid: 'b' }]) {
    it(`is unknown: ${JSON.stringify(cnf)}`, () => assert.equal(confirmationIn(cnf), 'unknown'))
  }

  it('is met by who proves all of it', () => {
    assert.equal(isMet(undefined, undefined), true)
    assert.equal(isMet(undefined, { jkt: 'a' }), true)
    assert.equal(isMet({ jkt: 'a' }, { jkt: 'a', 'x5t#S256': 'b' }), true)
    assert.equal(isMet({ jkt: 'a' }, undefined), false)
    assert.equal(isMet({ jkt: 'a' }, { jkt: 'b' }), false)
    assert.equal(isMet({ jkt: 'a', 'x5t#S256': 'b' }, { jkt: 'a' }), false)
    assert.equal(isMet('unknown', { jkt: 'a' }), false)
  })
})
