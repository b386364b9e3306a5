"""python3 onnxruntime_model.py MODEL INPUTS.npz OUTPUTS.npz [provider]: all outputs of a model by ONNX Runtime."""
import sys

import numpy
import onnxruntime

model, inputs, outputs = sys.argv[1:4]
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # else values are fused away
session = onnxruntime.InferenceSession(model, options, providers=sys.argv[4:] or ["CPUExecutionProvider"])
names = [o.name for o in session.get_outputs()]
with numpy.load(inputs) as given:
    values = session.run(names, dict(given))
numpy.savez(outputs, **{n: v for n, v in zip(names, values) if isinstance(v, numpy.ndarray)})
