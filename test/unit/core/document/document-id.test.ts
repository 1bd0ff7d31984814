import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  partitionOf,
  requirePartition,
  validatePartition,
  validatePartitionedId,
} from '../../../../src/core/document/document-id.ts'

/** Code and reason of the failure; undefined where there is none. */
function complaint(work: () => void): readonly unknown[] | undefined {
  try {
    work()
    return undefined
  } catch (thrown) {
    assert.ok(isFailure(thrown))
    return [thrown.code, thrown.detail.reason]
  }
}

const FORM = ['document_id_invalid', 'Doc id must be of form partition:id']

describe('ids with partitions', () => {
  it('are cut at the first colon', () => {
    assert.equal(partitionOf('p:a'), 'p')
    assert.equal(partitionOf('p:a:b'), 'p')
    assert.equal(partitionOf(':a'), '')
    assert.equal(partitionOf('p'), undefined)
    assert.equal(partitionOf('_design/p:a'), undefined)
    assert.equal(partitionOf('_local/p:a'), undefined)
  })

  it('have two parts that could stand alone', () => {
    const of = (id: string) => complaint(() => validatePartitionedId(id))
    for (const id of ['p:a', 'p:a:b', 'p q:ä', '_design/d', '_local/l']) {
      assert.equal(of(id), undefined, id)
    }
    assert.deepEqual(of('plain'), FORM)
    assert.deepEqual(of('p:'), ['document_id_invalid', 'Document id must not be empty'])
    assert.deepEqual(of(':a'), ['partition_invalid', 'Partition must not be empty'])
    assert.deepEqual(of('p:_a'), [
      'document_id_invalid',
      'Only reserved document ids may start with underscore.',
    ])
  })

  it('are asked for with a colon, design and local documents aside', () => {
    const of = (id: string) => complaint(() => requirePartition(id))
    assert.deepEqual(of('plain'), FORM)
    for (const id of ['p:a', 'p:', '_design/d', '_local/l']) assert.equal(of(id), undefined)
  })

  it('know what a partition may be called', () => {
    const of = (partition: string) => complaint(() => validatePartition(partition))?.[1]
    assert.equal(of('p'), undefined)
    assert.equal(of(''), 'Partition must not be empty')
    assert.equal(of('_p'), 'Partition must not start with an underscore')
    assert.equal(of('p:q'), 'Partition must not contain a colon')
    assert.equal(of('p\ud800'), 'Partition must be valid UTF-8')
  })
})
