"""Layers of detectors."""

from .layer import converts


@converts('PriorBox')
def prior_box(g, layer):
    """Constants: only the shapes of its bottoms matter."""
    return [g.node('Identity', [g.constant(layer.top_values()[0], 'boxes')], layer.y)]


@converts('ROIPooling')
def roi_pooling(g, layer):
    param = layer.param.roi_pooling_param
    return [g.node('MaxRoiPool', [layer.x, layer.bottoms[1].name], layer.y,
                   pooled_shape=[param.pooled_h, param.pooled_w], spatial_scale=param.spatial_scale)]
