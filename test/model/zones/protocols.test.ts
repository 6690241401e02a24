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

describe('supportsProtocol', () => {
  it('defaults by mode, and is off for client metadata documents', () => {
    const supported = (behaviour: typeof standard) =>
      names.filter(name => supportsProtocol({ config: {} }, name, behaviour))
    assert.deepEqual(supported(uaa), [])
    const expected = names.filter(name => name !== 'clientMetadataDocuments')
    assert.deepEqual(supported(standard), expected)
  })

  it('can be set for each protocol', () => {
    for (const name of names) {
      assert.equal(supportsProtocol({ config: { protocols: { [name]: true } } }, name, uaa), true)
      assert.equal(supportsProtocol({ config: { protocols: { [name]: false } } }, name, standard), false)
    }
  })
})

describe('Token confirmation', () => {
  it('is read from the cnf claim', () => {
    assert.equal(confirmationIn(undefined), undefined)
    assert.deepEqual(confirmationIn({ jkt: 'a' }), { jkt: 'a' })
    assert.deepEqual(confirmationIn({ jkt: 'a', 'x5t#S256': 'b' }), { jkt: 'a', 'x5t#S256': 'b' })
  })

  for (const cnf of [null, {}, [], 'jkt', { jkt: '' }, { jkt: 1 }, { jwk: {} }, { jkt: 'a', kid: 'b' }]) {
    it(`is unknown for ${JSON.stringify(cnf)}`, () => assert.equal(confirmationIn(cnf), 'unknown'))
  }

  it('requires proof of every member', () => {
    assert.equal(isMet(undefined, undefined), true)
    assert.equal(isMet(undefined, { jkt: 'a' }), true)
    assert.equal(isMet({ jkt: 'a' }, { jkt: 'a', 'x5t#S256': 'b' }), true)
    assert.equal(isMet({ jkt: 'a' }, undefined), false)
    assert.equal(isMet({ jkt: 'a' }, { jkt: 'b' }), false)
    assert.equal(isMet({ jkt: 'a', 'x5t#S256': 'b' }, { jkt: 'a' }), false)
    assert.equal(isMet('unknown', { jkt: 'a' }), false)
  })
})
