"""pytorch_model.bin without PyTorch: equal to torch.load, and nothing in the pickle is run."""

import os

import numpy as np
import pytest

from official_bert.checkpoints.torch_file import read_torch_file
from official_bert.errors import InputError
from tests.public_data import peer, weights

torch = peer("torch")


@pytest.fixture(params=[True, False], ids=["zip", "legacy"])
def save(request, tmp_path):
    def write(state):
        path = tmp_path / "pytorch_model.bin"
        torch.save(state, path, _use_new_zipfile_serialization=request.param)
        return path

    return write


def test_types_views_and_shared_storages(save):
    linear = torch.nn.Linear(3, 4)
    matrix = linear.weight.detach()
    state = {
        **linear.state_dict(),
        "parameter": linear.weight,
        "transposed": matrix.t(),
        "column": matrix[1:, 2],
        "half": matrix.half(),
        "bfloat16": matrix.bfloat16(),
        "double": matrix.double(),
        "numbers": torch.arange(4),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(3.0),
    }
    read = read_torch_file(save(state))
    assert list(read) == list(state)
    for name, tensor in state.items():
        assert read[name].shape == tuple(tensor.shape)
        array = read[name].read()
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, tensor.detach().float().numpy())


def test_a_real_file():
    path = weights("rxnfp") / "models/transformers/bert_pretrained/pytorch_model.bin"
    state = torch.load(path, map_location="cpu", weights_only=True)
    read = read_torch_file(path)
    assert list(read) == list(state)
    for name, tensor in state.items():
        np.testing.assert_array_equal(read[name].read(), tensor.numpy())


class _Code:
    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return os.mkdir, (str(self._path),)


def test_a_pickle_with_code_is_refused_and_not_run(save, tmp_path):
    path = save({"weight": torch.zeros(2), "more": _Code(tmp_path / "was_run")})
    with pytest.raises(InputError, match=r"refused: it asks for posix.mkdir, which is no part of"):
        read_torch_file(path)
    assert not (tmp_path / "was_run").exists()


@pytest.mark.parametrize("left", [10, 100, 0.5, 0.99])
def test_a_truncated_file_is_an_error_with_its_name(save, left):
    path = save({"weight": torch.zeros(100, 20), "bias": torch.ones(20)})
    content = path.read_bytes()
    path.write_bytes(content[: left if left >= 1 else int(left * len(content))])
    with pytest.raises(InputError, match="pytorch_model.bin is .*truncated"):
        read_torch_file(path)


def test_what_is_no_state_dict_is_refused(save):
    with pytest.raises(InputError, match="'epoch' is a int; save model.state_dict"):
        read_torch_file(save({"epoch": 3}))
    with pytest.raises(InputError, match="holds a list, not a state dict"):
        read_torch_file(save([torch.zeros(1)]))


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot read .*nothing.bin: No such file"):
        read_torch_file(tmp_path / "nothing.bin")
